// Says what a device is, or why there is none: one line, for tests to read.
//
//   cuda_probe same|any|NUMBER|UUID [start]

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>

#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

troupe::gpu_choice choice_of(const std::string& word) {
  if (word == "same") return troupe::gpu_choice::same_number();
  if (word == "any") return troupe::gpu_choice::any();
  if (std::isdigit(static_cast<unsigned char>(word.front())) != 0 || word.front() == '-') {
    return troupe::gpu_choice::number(std::stoi(word));
  }
  return troupe::gpu_choice::uuid(word);
}

int failed(const troupe::error& why) {
  std::printf("%s | %s\n", std::string(to_string(why.code)).c_str(), why.to_string().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    troupe::system system;
    troupe::device_config config{.gpu = choice_of(argv[1]), .restarts = {.restarts = 0}};
    if (argc > 2 && std::string_view(argv[2]) == "thread") {
      config.isolation = troupe::isolation::thread;
    }
    troupe::device device = system.device(0, config);
    if (argc > 2) {
      if (auto ready = device.wait_until_ready(); !ready) return failed(ready.error());
    }
    const troupe::device_description& is = device.description();
    std::printf("%d | %s | %s\n", is.ordinal, is.name.c_str(), is.uuid.c_str());
    return 0;
  } catch (const troupe::failure& failure) {
    return failed(failure.error());
  }
}
