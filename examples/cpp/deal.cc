// build/deal --target unix:/run/entropyd/poker.sock --claim-key claim.key TABLE HAND...
//
// Deals each hand and prints it as a line of JSON; ask again for the same hand and see the same
// deck.

#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "dealer.h"

namespace {

using entropyd_example::Dealer;
using Values = std::map<std::string, std::string>;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string ReadIf(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "" : Read(found->second);
}

// A token's file may end in a line break, which is no part of it.
std::string Trimmed(std::string text) {
  while (!text.empty() && text.back() <= ' ') text.pop_back();
  return text;
}

// Ids are printable ASCII and may hold both characters that JSON escapes.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

entropyd_example::Options OptionsFrom(const Values& values) {
  entropyd_example::Options options;
  options.target = values.at("target");
  options.claim_key = Read(values.at("claim-key"));
  options.service_config = Read(values.at("service-config"));
  options.token = Trimmed(ReadIf(values, "token-file"));
  if (values.count("ca") != 0) {
    const auto name = values.find("server-name");
    options.tls = {ReadIf(values, "ca"), ReadIf(values, "cert"), ReadIf(values, "key"),
                   name == values.end() ? "" : name->second};
  }
  return options;
}

int Deal(const Values& values, const std::vector<std::string>& ids) {
  Dealer dealer(OptionsFrom(values));
  const std::chrono::milliseconds patience(std::stol(values.at("patience-ms")));
  for (std::size_t i = 1; i < ids.size(); ++i) {
    entropyd::v1::ShuffleResponse response;
    const auto on_hold = [](const std::string& reason, std::chrono::milliseconds wait) {
      std::cerr << "held, again in " << wait.count() << " ms: " << reason << std::endl;
    };
    const grpc::Status status = dealer.Deal(ids[0], ids[i], patience, on_hold, &response);
    if (!status.ok()) {
      std::cerr << "refused: " << status.error_code() << ' ' << status.error_message() << '\n';
      return 1;
    }
    std::cout << "{\"hand\":" << Quoted(ids[i])
              << ",\"replayed\":" << (response.replayed() ? "true" : "false") << ",\"cards\":"
              << Quoted(response.shuffle().text()) << ",\"sequence\":\""
              << response.shuffle().sequence() << "\"}" << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Values values = {{"target", "unix:/run/entropyd/poker.sock"},
                   {"claim-key", "claim.key"},
                   {"service-config", "../../docs/service-config.json"},
                   {"patience-ms", "60000"}};
  std::vector<std::string> ids;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) == 0 && i + 1 < argc) {
      values[argument.substr(2)] = argv[++i];
    } else {
      ids.push_back(argument);
    }
  }
  try {
    return Deal(values, ids);
  } catch (const std::exception& error) {
    std::cerr << "deal: " << error.what() << '\n';
    return 2;
  }
}
