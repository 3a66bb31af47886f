#pragma once

/// Contractions, reductions, permutations and maps of tensors whose dimensions have names.

#include <troupe/tensors/combine.hpp>
#include <troupe/tensors/contract.hpp>
#include <troupe/tensors/contract_blocks.hpp>
#include <troupe/tensors/operators.hpp>
#include <troupe/tensors/reduce.hpp>
