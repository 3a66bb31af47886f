#pragma once

/// Reductions, scans, sorting, selection and histograms of vectors.

#include <troupe/primitives/histograms.hpp>
#include <troupe/primitives/reductions.hpp>
#include <troupe/primitives/scans.hpp>
#include <troupe/primitives/selection.hpp>
#include <troupe/primitives/sorting.hpp>
