#pragma once

/// Random numbers.

#include <troupe/rng/bits.hpp>
#include <troupe/rng/continuous.hpp>
#include <troupe/rng/discrete.hpp>
#include <troupe/rng/generator.hpp>
#include <troupe/rng/permutation.hpp>
