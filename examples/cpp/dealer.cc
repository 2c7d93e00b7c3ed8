#include "dealer.h"

#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <utility>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace entropyd_example {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::system_clock;

// The daemon refuses calls without a deadline: 10 s is two of its holds.
constexpr milliseconds kDeadline{10'000};
// When to ask again where nobody said when.
constexpr milliseconds kPause{1'000};
constexpr std::size_t kClaimBytes = 16;
constexpr std::size_t kLeastKeyBytes = 32;

std::string U32(std::uint32_t number) {
  std::string bytes(4, '\0');
  for (int i = 3; i >= 0; --i, number >>= 8) bytes[i] = static_cast<char>(number & 0xff);
  return bytes;
}

std::string Lp(const std::string& bytes) {
  return U32(static_cast<std::uint32_t>(bytes.size())) + bytes;
}

std::shared_ptr<grpc::Channel> Connect(const Options& options) {
  grpc::ChannelArguments arguments;
  // Retries only what may be retried, and waits as long as the daemon says.
  arguments.SetServiceConfigJSON(options.service_config);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  if (!options.tls) {
    return grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments);
  }
  const Tls& tls = *options.tls;
  if (!tls.server_name.empty()) arguments.SetSslTargetNameOverride(tls.server_name);
  grpc::SslCredentialsOptions shown;
  shown.pem_root_certs = tls.ca;
  shown.pem_cert_chain = tls.cert;
  shown.pem_private_key = tls.key;
  return grpc::CreateCustomChannel(options.target, grpc::SslCredentials(shown), arguments);
}

milliseconds AskAgainAfter(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto told = trailers.find("grpc-retry-pushback-ms");
  if (told == trailers.end()) return kPause;
  const std::string text(told->second.data(), told->second.size());
  const long wait = std::strtol(text.c_str(), nullptr, 10);
  return wait > 0 ? milliseconds(wait) : kPause;
}

}  // namespace

std::string DeriveClaim(const std::string& claim_key, const std::string& table,
                        const std::string& hand, std::uint32_t place) {
  if (claim_key.size() < kLeastKeyBytes) {
    throw std::invalid_argument("a claim key has 32 bytes or more");
  }
  const std::string message = Lp("entropyd/claim-key/v1") + Lp(table) + Lp(hand) + U32(place);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  if (HMAC(EVP_sha256(), claim_key.data(), static_cast<int>(claim_key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest,
           &length) == nullptr) {
    throw std::runtime_error("HMAC failed");
  }
  return std::string(reinterpret_cast<const char*>(digest), kClaimBytes);
}

Dealer::Dealer(Options options)
    : options_(std::move(options)),
      stub_(entropyd::v1::ShuffleService::NewStub(Connect(options_))) {}

grpc::Status Dealer::Shuffle(const std::string& table, const std::string& hand,
                             entropyd::v1::ShuffleResponse* response,
                             milliseconds* ask_again_after) {
  entropyd::v1::ShuffleRequest request;
  request.mutable_key()->set_table(table);
  request.mutable_key()->set_hand(hand);
  request.set_claim(DeriveClaim(options_.claim_key, table, hand));
  grpc::ClientContext context;
  context.set_deadline(Clock::now() + kDeadline);
  if (!options_.token.empty()) context.AddMetadata("authorization", "Bearer " + options_.token);
  const grpc::Status status = stub_->Shuffle(&context, request, response);
  *ask_again_after = AskAgainAfter(context);
  return status;
}

grpc::Status Dealer::Deal(const std::string& table, const std::string& hand, milliseconds patience,
                          const OnHold& on_hold, entropyd::v1::ShuffleResponse* response) {
  const auto until = Clock::now() + patience;
  for (;;) {
    milliseconds wait = kPause;
    const grpc::Status status = Shuffle(table, hand, response, &wait);
    const bool again = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                       status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
    if (!again || Clock::now() + wait > until) return status;
    on_hold(status.error_message(), wait);
    std::this_thread::sleep_for(wait);
  }
}

}  // namespace entropyd_example
