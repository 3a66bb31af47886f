#include "wire/codec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe::wire {
namespace {

class printer final : public field_visitor {
 public:
  explicit printer(std::string_view name) : text_(name) {}

  void value(std::string_view name, scalar& v) override {
    if (v.has_imaginary()) {
      const auto z = v.as<std::complex<double>>();
      add(name, fmt::format("{}{:+}i", z.real(), z.imag()));
    } else if (v.what() == scalar::kind::integer) {
      add(name, fmt::format("{}", v.as<std::int64_t>()));
    } else if (v.what() == scalar::kind::unsigned_integer) {
      add(name, fmt::format("{}", v.as<std::uint64_t>()));
    } else {
      add(name, fmt::format("{}", v.as<double>()));
    }
  }
  void value(std::string_view name, std::int64_t& v) override { add(name, fmt::format("{}", v)); }
  void value(std::string_view name, double& v) override { add(name, fmt::format("{}", v)); }
  void value(std::string_view name, bool& v) override { add(name, v ? "true" : "false"); }
  void value(std::string_view name, std::string& v) override {
    add(name, fmt::format("\"{}\"", std::string_view(v).substr(0, 32)));
  }
  void value(std::string_view name, std::vector<std::int64_t>& v) override {
    add(name, fmt::format("[{} numbers]", v.size()));
  }
  void value(std::string_view name, std::vector<scalar>& v) override {
    add(name, fmt::format("[{} scalars]", v.size()));
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  void tensor(std::string_view name, any_tensor& t, access) override {
    if (!t.null()) add(name, t.to_string());
  }
  void tensors(std::string_view name, std::vector<any_tensor>& list, access) override {
    add(name, list.empty() ? "[]" : fmt::format("{}×{}", list.size(), list.front().to_string()));
  }
  void choice(std::string_view name, std::uint32_t& v, std::uint32_t) override {
    if (v != 0) add(name, fmt::format("{}", v));
  }
  void add(std::string_view name, std::string_view what) {
    fmt::format_to(std::back_inserter(text_), " {}={}", name, what);
  }

  std::string text_;
};

}  // namespace

std::string print(const request_type& type, const void* r) {
  printer out(type.name);
  type.show(r, out);
  return std::move(out).text();
}

}  // namespace troupe::wire
