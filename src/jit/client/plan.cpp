#include "jit/client/plan.hpp"

#include "jit/client/hasher.hpp"
#include "jit/client/toolchain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace troupe::jit {
namespace {

// Raised with every change of an image's stored form, or of how one is made from the same source.
constexpr std::string_view generation = "troupe jit 1";

error refusal(std::string message) {
  return error{.code = errc::invalid_argument, .message = std::move(message)};
}

bool starts_with_any(std::string_view option, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return option.starts_with(beginning); });
}

// "sm_" and a number, with a letter for features of only that GPU, or its family.
result<void> check_architecture(std::string_view name) {
  std::string_view rest = name;
  const bool begins = rest.starts_with("sm_");
  if (begins) rest.remove_prefix(3);
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const std::string_view letter = rest.substr(digits);
  if (begins && digits >= 2 && digits <= 3 && (letter.empty() || letter == "a" || letter == "f")) {
    return {};
  }
  return refusal(
      fmt::format("architecture is \"{}\", it must be one such as \"sm_90\" or "
                  "\"sm_90a\"",
                  name));
}

result<void> check_text(std::string_view what, std::string_view text) {
  if (text.find('\0') == std::string_view::npos) return {};
  return refusal(fmt::format("{} has a NUL in it", what));
}

result<void> check_options(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (auto good = check_text("an option", option); !good) return good;
    if (starts_with_any(option, {"--gpu-architecture", "-arch", "-dlto", "--dlto", "-lto"})) {
      return refusal(fmt::format("option {}: use the fields architecture and output", option));
    }
  }
  return {};
}

result<void> check(const source& what) {
  if (auto good = check_architecture(what.architecture); !good) return good;
  if (what.output == image_kind::fatbin) {
    return refusal("output is fatbin, which nvcc makes: compile to cubin, ptx or lto_ir");
  }
  if (auto good = check_text("the source", what.text); !good) return good;
  if (auto good = check_text("the source's name", what.name); !good) return good;
  std::vector<std::string_view> seen;
  for (const header& one : what.headers) {
    if (auto good = check_text(fmt::format("header {}", one.name), one.name + one.text); !good) {
      return good;
    }
    if (one.name.empty()) return refusal("a header has no name");
    if (std::ranges::find(seen, one.name) != seen.end()) {
      return refusal(fmt::format("header {} is given twice", one.name));
    }
    seen.push_back(one.name);
  }
  for (const std::string& name : what.names) {
    if (name.empty()) return refusal("a name expression is empty");
    if (auto good = check_text("a name expression", name); !good) return good;
  }
  return check_options(what.options);
}

// Options that read or write files, or measure: the result is not a function of the request alone.
bool depends_on_files(const std::vector<std::string>& options) {
  return std::ranges::any_of(options, [](const std::string& option) {
    return starts_with_any(
        option, {"-I", "--include-path", "-include", "--pre-include", "-pch", "--pch",
                 "--create-pch", "-create-pch", "--use-pch", "-use-pch", "-time", "--time",
                 "--fdevice-time-trace", "-fdevice-time-trace", "--options-file", "-optf"});
  });
}

std::string virtual_architecture(std::string_view real) {
  return "compute_" + std::string(real.substr(3));
}

void hash(hasher& h, const std::vector<std::string>& texts) {
  h.number(texts.size());
  for (const std::string& one : texts)
    h.text(one);
}

}  // namespace

result<plan> plan_for(source what, const compiler_config& config) {
  if (auto good = check(what); !good) return std::move(good).error();
  auto nvrtc = find_library({.soname = "libnvrtc.so.13",
                             .product = "NVRTC",
                             .setting = "nvrtc_path",
                             .configured = config.nvrtc_path});
  if (!nvrtc) return std::move(nvrtc).error();
  plan made;
  made.architecture = what.architecture;
  made.cacheable = !depends_on_files(what.options);

  // Headers must not be searched in the program's current folder: a kept result must not depend on
  // it. But headers on disk include their neighbours as if from there, and one option controls
  // both; so the compiler also runs in a folder without headers.
  std::vector<std::string> options;
  if (made.cacheable && !what.toolkit_headers) options.emplace_back("--no-source-include");
  const bool to_ptx = what.output == image_kind::ptx;
  options.push_back("--gpu-architecture=" +
                    (to_ptx ? virtual_architecture(what.architecture) : what.architecture));
  if (what.output == image_kind::lto_ir) {
    options.insert(options.end(), {"--relocatable-device-code=true", "-dlto"});
  }
  options.insert(options.end(), what.options.begin(), what.options.end());

  hasher h;
  h.text(generation).text("compile").text(nvrtc->identity).text(driver_version());
  h.text(what.architecture).number(static_cast<std::uint64_t>(what.output));
  h.text(what.text).text(what.name);
  std::ranges::sort(what.headers, {}, &header::name);
  h.number(what.headers.size());
  for (const header& one : what.headers)
    h.text(one.name).text(one.text);
  hash(h, options);
  hash(h, what.names);
  if (what.toolkit_headers) {
    auto folder = find_toolkit_headers(nvrtc->path);
    if (!folder) return std::move(folder).error();
    options.push_back("--include-path=" + folder->path);
    // libcu++ and CUB have a folder of their own in it.
    options.push_back("--include-path=" + folder->path + "/cccl");
    h.text(folder->identity);
  }
  made.key = h.finish();
  made.what = {.library = std::move(nvrtc->path),
               .memory_bytes = config.limits.memory_bytes,
               .text = std::move(what.text),
               .name = std::move(what.name),
               .headers = std::move(what.headers),
               .options = std::move(options),
               .names = std::move(what.names),
               .stays = !made.cacheable,
               .output = what.output};
  return made;
}

result<plan> plan_for(linkage what, const compiler_config& config) {
  if (auto good = check_architecture(what.architecture); !good) return std::move(good).error();
  if (auto good = check_options(what.options); !good) return std::move(good).error();
  if (what.pieces.empty()) return refusal("there are no pieces to be linked");
  if (what.output != image_kind::cubin && what.output != image_kind::ptx) {
    return refusal("output is neither cubin nor ptx");
  }
  for (std::size_t i = 0; i < what.pieces.size(); ++i) {
    const binary& piece = what.pieces[i];
    if (piece.image.empty()) return refusal(fmt::format("piece {} has no bytes", i));
    if (what.output == image_kind::ptx && piece.kind != image_kind::lto_ir) {
      return refusal(fmt::format("output is ptx, and piece {} is no LTO-IR", i));
    }
  }
  auto linker = find_library({.soname = "libnvJitLink.so.13",
                              .product = "nvJitLink",
                              .setting = "nvjitlink_path",
                              .configured = config.nvjitlink_path});
  if (!linker) return std::move(linker).error();
  plan made;
  made.architecture = what.architecture;
  std::vector<std::string> options{"-arch=" + what.architecture};
  if (std::ranges::any_of(what.pieces,
                          [](const binary& p) { return p.kind == image_kind::lto_ir; })) {
    options.emplace_back("-lto");
  }
  if (what.output == image_kind::ptx) options.emplace_back("-ptx");
  options.insert(options.end(), what.options.begin(), what.options.end());

  hasher h;
  h.text(generation).text("link").text(linker->identity).text(driver_version());
  hash(h, options);
  h.number(what.pieces.size());
  for (const binary& piece : what.pieces) {
    h.number(static_cast<std::uint64_t>(piece.kind)).number(piece.image.size()).bytes(piece.image);
    // They are part of the result.
    h.number(piece.names.size());
    for (const lowered_name& one : piece.names)
      h.text(one.expression).text(one.lowered);
  }
  made.key = h.finish();
  made.what = {.library = std::move(linker->path),
               .memory_bytes = config.limits.memory_bytes,
               .options = std::move(options),
               .pieces = std::move(what.pieces),
               .output = what.output};
  return made;
}

}  // namespace troupe::jit
