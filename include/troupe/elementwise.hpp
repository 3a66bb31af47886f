#pragma once

/// Functions of elements, fused at run time.

#include <troupe/elementwise/function.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/opcode.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/elementwise/value.hpp>
