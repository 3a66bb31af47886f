#include "call.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

namespace troupe::lapack {
namespace {

struct counts {
  long requested = 0;  ///< calls that became requests
  long passed_on = 0;
};

/// The program's device. The calls are printed at its end.
class session {
 public:
  static session& get() {
    static session one;
    return one;
  }

  [[nodiscard]] troupe::device& device() { return device_; }
  [[nodiscard]] counts& of(const char* name) { return counts_[name]; }

 private:
  session() {
    // Workers call the LAPACK of their own backend.
    unsetenv("LD_PRELOAD");
    if (const auto ready = device_.wait_until_ready(); !ready) {
      std::fprintf(stderr, "no device: %s\n", ready.error().to_string().c_str());
      std::_Exit(3);
    }
  }
  ~session() {
    for (const auto& [name, n] : counts_)
      std::fprintf(stderr, "%.*s requested %ld passed on %ld\n", static_cast<int>(name.size() - 1),
                   name.data(), n.requested, n.passed_on);
    const device_statistics all = device_.statistics();
    std::fprintf(stderr, "%lu requests, copies among them, generation %lu\n", all.sent,
                 device_.generation());
  }

  troupe::system system_;
  troupe::device device_ = system_.device(0, {.standby = false});
  std::map<std::string_view, counts> counts_;
};

[[noreturn]] void give_up(const char* name, std::string_view request, std::string_view why) {
  std::fprintf(stderr, "%s: %.*s: %.*s\n", name, static_cast<int>(request.size()), request.data(),
               static_cast<int>(why.size()), why.data());
  std::_Exit(3);
}

/// The first number of a message, 0 without any.
integer number_in(std::string_view message) {
  const std::size_t at = message.find_first_of("0123456789");
  return at == std::string_view::npos ? 0 : std::atoi(message.data() + at);
}

}  // namespace

call::call(const char* name)
    : name_(name), device_(session::get().device()), actor_(device_.library("solver")) {
  ++session::get().of(name).requested;
}

any_tensor call::out(dtype type, integer rows, integer columns) {
  return device_.allocate(type, {columns, rows}).value().transpose();
}
any_tensor call::out(dtype type, integer count) { return device_.allocate(type, {count}).value(); }

void call::send(const any_tensor& to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  sent_copy& one = copies_.emplace_back(std::vector<std::byte>(bytes.begin(), bytes.end()));
  one.done = device_.copy_in(to.type(), one.bytes, to);
}
void call::receive(const any_tensor& from, std::span<std::byte> bytes) {
  if (bytes.empty()) return;
  if (const auto copied = device_.copy_out(from, from.type(), bytes).get_result(); !copied)
    give_up(name_, "copy", copied.error().to_string());
}
void call::settle() {
  for (sent_copy& one : copies_) {
    if (const auto copied = one.done.get_result(); !copied)
      give_up(name_, "copy", copied.error().to_string());
  }
  copies_.clear();
}

integer call::outcome(std::string_view request, const result<void>& answer, integer info) const {
  if (answer) {
    if (info != 0) give_up(name_, request, "succeeded with info " + std::to_string(info));
    return 0;
  }
  const error& why = answer.error();
  if (why.code != errc::numerical || info == 0) give_up(name_, request, why.to_string());
  // For a generalised problem's second matrix info counts on from n.
  const bool of_second = why.message.starts_with("b is not");
  if (!of_second && info > 0 && number_in(why.message) != info)
    give_up(name_, request, why.message + ", but info is " + std::to_string(info));
  return info;
}

void* real_routine(const char* name) {
  ++session::get().of(name).passed_on;
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) give_up(name, "dlsym", "LAPACK has no such routine");
  return found;
}

}  // namespace troupe::lapack
