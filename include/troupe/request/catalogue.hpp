#pragma once

#include <troupe/request/request.hpp>

#include <string>
#include <string_view>
#include <vector>

/// All requests known to this program: those of Troupe, and the program's own that it has used or
/// registered (`request_type_of`).
namespace troupe {

/// The library names (the part before the dot), sorted.
[[nodiscard]] TROUPE_EXPORT std::vector<std::string_view> libraries();
/// The requests of a library, sorted by name; for an empty name, those of all libraries.
[[nodiscard]] TROUPE_EXPORT std::vector<const request_type*> requests_of(std::string_view library);
/// The request with this name, such as `blas.gemm`; null if there is none.
[[nodiscard]] TROUPE_EXPORT const request_type* request_named(std::string_view name);

/// The purpose of a request, in one sentence.
[[nodiscard]] TROUPE_EXPORT std::string_view summary_of(const request_type& type) noexcept;
/// The tensors that it reads and writes: `a[m, k], b[k, n] → c[m, n]`.
[[nodiscard]] TROUPE_EXPORT std::string signature_of(const request_type& type);
/// A request's description as one JSON object: fields with kinds, roles, shapes, types, defaults,
/// ranges and conditions, and the reply.
[[nodiscard]] TROUPE_EXPORT std::string json_of(const request_type& type);
/// The same for readers, as a section of a Markdown page.
[[nodiscard]] TROUPE_EXPORT std::string page_of(const request_type& type);

}  // namespace troupe
