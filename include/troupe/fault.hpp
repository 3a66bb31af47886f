#pragma once

/// Faults to inject, for tests and demonstrations.

#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
