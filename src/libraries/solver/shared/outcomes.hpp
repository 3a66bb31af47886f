#pragma once

#include <string_view>

/// The errors of both backends for a matrix without a solution: the first word of a message up to
/// its number, and the rest after that.
namespace troupe::solver {

struct outcome_text {
  std::string_view before;
  std::string_view after;
};

inline constexpr outcome_text zero_pivot{"singular: pivot ", " is zero"};
inline constexpr outcome_text zero_diagonal{"singular: diagonal element ", " is zero"};
inline constexpr outcome_text rank_deficient{"rank deficient: diagonal element ", " of R is zero"};
inline constexpr outcome_text bad_minor{"not positive definite: leading minor ", ""};
inline constexpr outcome_text bad_minor_of_b{"b is not positive definite: leading minor ", ""};
inline constexpr outcome_text off_diagonals{"not converged: ", " off-diagonals"};
inline constexpr outcome_text missing_eigenvalues{"not converged: ", " eigenvalues"};
/// Follows the message of a pivot that is out of range.
inline constexpr std::string_view not_a_pair = " nor one of a negative pair";
/// Without a number.
inline constexpr std::string_view not_finite = "not finite: the matrix has infinities or NaNs";

}  // namespace troupe::solver
