#pragma once

/// Requests that mark a place in a lane, and the smallest launch.

#include <troupe/lane/launch.hpp>
#include <troupe/lane/mapping.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/lane/rest.hpp>
