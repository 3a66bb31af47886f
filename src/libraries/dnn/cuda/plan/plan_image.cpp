#include "libraries/dnn/cuda/plan/plan_image.hpp"

#include "jit/client/byte_stream.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace troupe::cuda {
namespace {

constexpr std::uint64_t form = 0x74'72'6f'75'70'65'50'32;  // "troupeP2"

}  // namespace

std::vector<std::byte> plan_image::to_bytes() const {
  jit::byte_writer to;
  to.number(form).text(plan).text(engine);
  to.number(static_cast<std::uint64_t>(frontend_workspace_bytes));
  to.number(static_cast<std::uint64_t>(alternative)).number(graph);
  to.number(bindings.size());
  for (const binding& one : bindings) {
    to.number(static_cast<std::uint64_t>(one.uid)).number(static_cast<std::uint64_t>(one.what));
    to.number(static_cast<std::uint64_t>(one.operand)).number(static_cast<std::uint64_t>(one.at));
    to.number(one.constant);
  }
  to.number(presets.size());
  for (const preset& one : presets) {
    to.number(static_cast<std::uint64_t>(one.at)).number(static_cast<std::uint64_t>(one.bytes));
    to.bytes(std::as_bytes(std::span(one.values)));
  }
  return std::move(to).take();
}

std::optional<plan_image> plan_image::from_bytes(std::span<const std::byte> bytes) {
  jit::byte_reader from(bytes);
  if (from.number() != form) return std::nullopt;
  const auto signed_number = [&] { return static_cast<std::int64_t>(from.number()); };
  plan_image made;
  made.plan = from.text();
  made.engine = from.text();
  made.frontend_workspace_bytes = signed_number();
  made.alternative = signed_number();
  made.graph = from.number();
  made.bindings.resize(from.count());
  for (binding& one : made.bindings) {
    one.uid = signed_number();
    const std::uint64_t what = from.number();
    if (what > static_cast<std::uint64_t>(binding::kind::workspace)) return std::nullopt;
    one.what = static_cast<binding::kind>(what);
    one.operand = signed_number();
    one.at = signed_number();
    one.constant = from.number();
  }
  made.presets.resize(from.count());
  for (preset& one : made.presets) {
    one.at = signed_number();
    one.bytes = signed_number();
    const std::span<const std::byte> values = from.bytes();
    if (values.size() % sizeof(float) != 0) return std::nullopt;
    one.values.resize(values.size() / sizeof(float));
    if (!values.empty()) std::memcpy(one.values.data(), values.data(), values.size());
  }
  if (!from.at_end() || !made.lies_within_workspace()) return std::nullopt;
  return made;
}

bool plan_image::lies_within_workspace() const noexcept {
  if (frontend_workspace_bytes < 0 || alternative < 0) return false;
  const bool bound = std::ranges::all_of(bindings, [&](const binding& one) {
    switch (one.what) {
      case binding::kind::operand:
        return one.operand >= 1 && one.operand <= most_operands && one.at >= 0;
      case binding::kind::constant:
        return true;
      case binding::kind::workspace:
        return one.at >= 0 && one.at <= frontend_workspace_bytes;
    }
    return false;
  });
  return bound && std::ranges::all_of(presets, [&](const preset& one) {
           const auto values = static_cast<std::int64_t>(one.values.size() * sizeof(float));
           return one.at >= 0 && one.at <= frontend_workspace_bytes && one.bytes >= 0 &&
                  std::max(one.bytes, values) <= frontend_workspace_bytes - one.at;
         });
}

bool plan_image::lies_within(std::span<const std::int64_t> operand_bytes) const noexcept {
  return lies_within_workspace() && std::ranges::all_of(bindings, [&](const binding& one) {
           return one.what != binding::kind::operand ||
                  (one.operand <= std::ssize(operand_bytes) &&
                   one.at < operand_bytes[static_cast<std::size_t>(one.operand - 1)]);
         });
}

}  // namespace troupe::cuda
