#pragma once

/// Functions of elements, fused at run time, and the named operations that are such functions.

#include <troupe/elementwise/activation.hpp>
#include <troupe/elementwise/cross_entropy.hpp>
#include <troupe/elementwise/function.hpp>
#include <troupe/elementwise/indexing.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/norms.hpp>
#include <troupe/elementwise/opcode.hpp>
#include <troupe/elementwise/optimizers.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/elementwise/rotary.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/elementwise/selection.hpp>
#include <troupe/elementwise/softmax.hpp>
#include <troupe/elementwise/value.hpp>
