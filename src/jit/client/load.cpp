#include <troupe/device/device.hpp>
#include <troupe/jit/kernel.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string_view>

namespace troupe::jit {
namespace {

constexpr std::array<unsigned char, 4> elf_mark = {0x7f, 'E', 'L', 'F'};
// Source: fatbinary_section.h (the wrapper that nvcc's objects hold) and the container itself.
constexpr std::array<unsigned char, 4> fatbin_mark = {0x50, 0xed, 0x55, 0xba};

template <std::size_t N>
bool begins(std::span<const std::byte> image, const std::array<unsigned char, N>& mark) {
  return image.size() > N && std::memcmp(image.data(), mark.data(), N) == 0;
}

bool is_text(std::span<const std::byte> image) {
  // A single NUL is allowed, at the end.
  const auto end = std::ranges::find(image, std::byte{0});
  if (image.end() - end > 1) return false;
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  return text.find(".version") != std::string_view::npos;
}

result<void> check_image(const binary& what) {
  bool good = false;
  std::string_view kind;
  switch (what.kind) {
    case image_kind::cubin:
      kind = "cubin";
      good = begins(what.image, elf_mark);
      break;
    case image_kind::ptx:
      kind = "PTX";
      good = is_text(what.image);
      break;
    case image_kind::fatbin:
      kind = "fatbin";
      good = begins(what.image, fatbin_mark);
      break;
    case image_kind::lto_ir:
      return error{.code = errc::unsupported,
                   .message = "LTO-IR is a piece of an image: link it first, by compiler::link"};
  }
  if (good) return {};
  return error{.code = errc::invalid_argument,
               .message = fmt::format("{} bytes that are no {}", what.image.size(), kind)};
}

}  // namespace

result<loaded_module> load(device& on, const binary& what) {
  if (auto good = check_image(what); !good) return std::move(good).error();
  std::vector<std::byte> text;
  std::span<const std::byte> image = what.image;
  if (what.kind == image_kind::ptx && image.back() != std::byte{0}) {
    text = what.image;
    text.push_back(std::byte{0});  // the driver needs its end
    image = text;
  }
  auto memory = on.host_tensor<std::uint8_t>({static_cast<std::int64_t>(image.size())});
  if (!memory) return std::move(memory).error();
  std::memcpy(memory->address(), image.data(), image.size());
  // Written once: the digest in each request identifies its content, for quarantine too.
  memory->buffer()->state.fetch_or(detail::buffer_frozen, std::memory_order_seq_cst);
  loaded_module made;
  made.image_ = *std::move(memory);
  made.digest_ = digest_of(image);
  made.names_ = what.names;
  return made;
}

result<loaded_module> load(device& on, std::span<const std::byte> image) {
  const image_kind kind = begins(image, elf_mark)      ? image_kind::cubin
                          : begins(image, fatbin_mark) ? image_kind::fatbin
                                                       : image_kind::ptx;
  if (kind == image_kind::ptx && !is_text(image)) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("{} bytes that are neither cubin, fatbin nor PTX", image.size())};
  }
  return load(on, binary{.kind = kind, .image = {image.begin(), image.end()}});
}

}  // namespace troupe::jit
