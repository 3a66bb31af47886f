#pragma once

#include "jit/client/job.hpp"

#include <troupe/base/result.hpp>
#include <troupe/jit/compiler.hpp>
#include <troupe/jit/digest.hpp>

#include <string>
#include <utility>

namespace troupe::jit {

/// A compilation that was found to be possible: what the compiler program is told, and by what its
/// result is known again.
struct plan {
  job what{};
  digest key{};
  bool cacheable = true;
  std::string architecture{};  ///< as the result says it
};

/// \errors as `compiler::compile`, of those that need no compiler
[[nodiscard]] result<plan> plan_for(source what, const compiler_config& config);
/// \errors as `compiler::link`
[[nodiscard]] result<plan> plan_for(linkage what, const compiler_config& config);

}  // namespace troupe::jit
