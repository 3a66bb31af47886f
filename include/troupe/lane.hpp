#pragma once

/// What marks a place in a lane, and the smallest launch.

#include <troupe/lane/launch.hpp>
#include <troupe/lane/lend.hpp>
#include <troupe/lane/marker.hpp>
