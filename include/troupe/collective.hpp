#pragma once

/// Operations of all devices of a world.

#include <troupe/collective/connect.hpp>
#include <troupe/collective/distribution.hpp>
#include <troupe/collective/exchange.hpp>
#include <troupe/collective/reduction.hpp>
