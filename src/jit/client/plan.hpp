#pragma once

#include "jit/client/job.hpp"

#include <troupe/base/result.hpp>
#include <troupe/jit/compiler.hpp>
#include <troupe/jit/digest.hpp>

#include <string>
#include <utility>

namespace troupe::jit {

/// A compilation that passed all checks: the input of the compiler program, and the key of its
/// result.
struct plan {
  job what{};
  digest key{};
  bool cacheable = true;
  std::string architecture{};  ///< as in the result
};

/// \errors as `compiler::compile`, those that need no compiler
[[nodiscard]] result<plan> plan_for(source what, const compiler_config& config);
/// \errors as `compiler::link`
[[nodiscard]] result<plan> plan_for(linkage what, const compiler_config& config);

}  // namespace troupe::jit
