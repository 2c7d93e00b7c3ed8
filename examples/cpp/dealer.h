// A client of entropyd: what every game server needs, and nothing of a framework.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "entropyd/v1/shuffle_service.grpc.pb.h"

namespace entropyd_example {

// Returns the 16 bytes that get this hand's deck read back: docs/protocol.md, "Claims".
// Throws std::invalid_argument if the key has fewer than 32 bytes.
std::string DeriveClaim(const std::string& claim_key, const std::string& table,
                        const std::string& hand, std::uint32_t place = 0);

// What to expect of the daemon and what to show it, in PEM. Empty: not given.
struct Tls {
  std::string ca;
  std::string cert;  // where the daemon asks for a certificate
  std::string key;
  std::string server_name;  // by default the target's
};

struct Options {
  std::string target;          // "unix:/run/...", "127.0.0.1:7443", or with tls "host:port"
  std::string claim_key;       // 32 random bytes of your own; keep them apart from credentials
  std::string service_config;  // docs/service-config.json
  std::optional<Tls> tls;
  std::string token;  // where the daemon asks for one; only with tls, or on this machine
};

class Dealer {
 public:
  using OnHold = std::function<void(const std::string& reason, std::chrono::milliseconds wait)>;

  explicit Dealer(Options options);

  // Asks once, with the retries that the service config allows.
  grpc::Status Shuffle(const std::string& table, const std::string& hand,
                       entropyd::v1::ShuffleResponse* response,
                       std::chrono::milliseconds* ask_again_after);

  // Deals a hand however long it takes: while the daemon holds, restarts or is not reached, the
  // same request is right again, and nothing else is. Everything but UNAVAILABLE is for a person.
  // A call that ran into its deadline may have been recorded; asking again gets the same deck.
  grpc::Status Deal(const std::string& table, const std::string& hand,
                    std::chrono::milliseconds patience, const OnHold& on_hold,
                    entropyd::v1::ShuffleResponse* response);

 private:
  Options options_;
  std::unique_ptr<entropyd::v1::ShuffleService::Stub> stub_;
};

}  // namespace entropyd_example
