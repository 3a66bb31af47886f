#pragma once

// Pipelines: items that go through the same stages, several at once.

#include <troupe/pipeline/pipeline.hpp>
