#pragma once

#include "request/description/table.hpp"

#include <troupe/request/request.hpp>

#include <string>

// Descriptions as text: in errors, on the command line and in the documents.
namespace troupe {

/// `n`, `n/2 + 1`, `⌈k/128⌉`; `dims…` for a symbol of several extents.
[[nodiscard]] std::string text_of(const description_table& t, const extent& e);
/// `[m, k]`; `any` for a field without a shape.
[[nodiscard]] std::string text_of(const description_table& t, bool has_shape,
                                  std::span<const extent> shape);
/// `beta is not 0`, `epilogue is bias or relu_bias`.
[[nodiscard]] std::string text_of(const description_table& t, const condition& c);
/// The value of a field in a request: `1.5`, `strict`, `<f32>[2, 3]`, `none` for no tensor.
[[nodiscard]] std::string value_text(const description_table& t, const field& f,
                                     const void* request);
/// `1 to 3`, `at least 0`, `above 0`, `finite`.
[[nodiscard]] std::string text_of(const field_details::bounds& range);

[[nodiscard]] std::string_view to_string(field_kind kind) noexcept;
/// `reads`, `writes`, `updates`.
[[nodiscard]] std::string_view verb_of(access role) noexcept;

/// A request as errors show it: its name, and each field that has not its default value.
[[nodiscard]] std::string print(const request_type& type, const void* request);

}  // namespace troupe
