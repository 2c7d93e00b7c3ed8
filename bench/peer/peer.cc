// What a deck costs a server that proves nothing: the yardstick of the bench's row `many`.
//
// It speaks entropyd.v1.ShuffleService and shuffles without bias, from the kernel's generator and
// nothing else: no ledger, no gate, no commitments, so that an answer is worth its sender's word.
// Of an answer it fills what the shuffle is: key, cards and text. One deck of 52 cards a hand.
//
//   peer unix:/path      prints "ready" and serves until SIGTERM
//
// Never deal from it.

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <sys/random.h>

#include <grpcpp/grpcpp.h>

#include "entropyd/v1/shuffle_service.grpc.pb.h"

namespace {

using entropyd::v1::BatchShuffleRequest;
using entropyd::v1::BatchShuffleResponse;
using entropyd::v1::HandAnswer;
using entropyd::v1::ShuffleRequest;
using entropyd::v1::ShuffleResponse;
using entropyd::v1::ShuffleService;
using entropyd::v1::StreamShufflesRequest;
using entropyd::v1::StreamShufflesResponse;

constexpr unsigned kCards = 52;
constexpr char kRanks[] = "23456789TJQKA";
constexpr char kSuits[] = "cdhs";
constexpr unsigned kRankCount = sizeof kRanks - 1;

// Bytes of the kernel's generator, 4 KiB a system call: some 55 decks. Owned by one thread.
class KernelBytes {
 public:
  std::uint8_t Next() {
    if (next_ == bytes_.size()) Refill();
    return bytes_[next_++];
  }

 private:
  void Refill() {
    // A signal may cut a call of more than 256 bytes short.
    for (std::size_t have = 0; have < bytes_.size();) {
      const ssize_t got = getrandom(bytes_.data() + have, bytes_.size() - have, 0);
      if (got > 0) {
        have += static_cast<std::size_t>(got);
      } else if (errno != EINTR) {
        std::perror("getrandom");
        std::abort();
      }
    }
    next_ = 0;
  }

  std::array<std::uint8_t, 4096> bytes_;
  std::size_t next_ = bytes_.size();
};

// Returns a number below `bound` (2 to 256), each equally likely: a byte's lowest bits, as few as
// can express it, and another byte's where they reach the bound.
unsigned Below(unsigned bound, KernelBytes& bytes) {
  unsigned mask = bound - 1;
  for (const int shift : {1, 2, 4}) mask |= mask >> shift;
  for (;;) {
    const unsigned value = bytes.Next() & mask;
    if (value < bound) return value;
  }
}

// Returns the cards of a deck in the order of a Fisher-Yates shuffle, one byte each.
std::string ShuffledCards() {
  thread_local KernelBytes bytes;
  std::string cards(kCards, '\0');
  for (unsigned card = 0; card < kCards; ++card) cards[card] = static_cast<char>(card);
  for (unsigned left = kCards; left > 1; --left) {
    std::swap(cards[left - 1], cards[Below(left, bytes)]);
  }
  return cards;
}

// Returns the cards as people read them: "As Td 2c".
std::string Text(const std::string& cards) {
  std::string text(3 * cards.size() - 1, ' ');
  for (std::size_t place = 0; place < cards.size(); ++place) {
    const auto card = static_cast<unsigned>(cards[place]);
    text[3 * place] = kRanks[card % kRankCount];
    text[3 * place + 1] = kSuits[card / kRankCount];
  }
  return text;
}

// Deals a hand. False: it asks for another deck than this server has.
bool Deal(const ShuffleRequest& request, ShuffleResponse* response) {
  if (request.has_deck()) return false;
  auto* shuffle = response->mutable_shuffle();
  *shuffle->mutable_key() = request.key();
  std::string cards = ShuffledCards();
  shuffle->set_text(Text(cards));
  shuffle->set_cards(std::move(cards));
  return true;
}

grpc::Status OtherDeck() {
  return {grpc::StatusCode::INVALID_ARGUMENT, "one deck of 52 cards is dealt; leave out `deck`"};
}

// One stream: a message is read, answered, and only then is the next one read. Deletes itself.
class Stream final : public grpc::ServerBidiReactor<StreamShufflesRequest, StreamShufflesResponse> {
 public:
  Stream() { StartRead(&request_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);  // the client sends no more
    response_.Clear();
    for (const ShuffleRequest& hand : request_.hands()) {
      HandAnswer* answer = response_.add_answers();
      *answer->mutable_key() = hand.key();
      if (!Deal(hand, answer->mutable_dealt())) return Finish(OtherDeck());
    }
    StartWrite(&response_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }

  void OnDone() override { delete this; }

 private:
  StreamShufflesRequest request_;
  StreamShufflesResponse response_;
};

class Peer final : public ShuffleService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Shuffle(grpc::CallbackServerContext* context,
                                    const ShuffleRequest* request,
                                    ShuffleResponse* response) override {
    return Finished(context, Deal(*request, response) ? grpc::Status::OK : OtherDeck());
  }

  grpc::ServerUnaryReactor* BatchShuffle(grpc::CallbackServerContext* context,
                                         const BatchShuffleRequest* request,
                                         BatchShuffleResponse* response) override {
    for (const ShuffleRequest& hand : request->hands()) {
      if (!Deal(hand, response->add_hands())) return Finished(context, OtherDeck());
    }
    return Finished(context, grpc::Status::OK);
  }

  grpc::ServerBidiReactor<StreamShufflesRequest, StreamShufflesResponse>* StreamShuffles(
      grpc::CallbackServerContext*) override {
    return new Stream;
  }

 private:
  static grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* context,
                                            const grpc::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: peer unix:/path\n");
    return 2;
  }
  // Blocked before gRPC starts its threads, so that the signal is sigwait's.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  Peer peer;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(arguments[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&peer);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) return 1;
  std::puts("ready");
  std::fflush(stdout);

  int signal = 0;
  sigwait(&ends, &signal);
  server->Shutdown(std::chrono::system_clock::now());
}
