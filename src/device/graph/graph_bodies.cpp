// The begin of a recording, and conditions whose bodies are functions.
#include <troupe/device/graph_recorder.hpp>

namespace troupe {

void graph_recorder::repeat_while(const any_tensor& condition, const repeat_options& options,
                                  const body& of) {
  begin_repeat(condition, options);
  of(*this);
  end();
}

void graph_recorder::run_if(const any_tensor& condition, const body& then, const body& otherwise) {
  begin_if(condition);
  then(*this);
  if (otherwise) {
    next_body();
    otherwise(*this);
  }
  end();
}

void graph_recorder::choose(const any_tensor& index, const std::vector<body>& bodies) {
  begin_choose(index);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    if (i != 0) next_body();
    bodies[i](*this);
  }
  end();
}

graph_recorder device::record(std::string_view name) const { return graph_recorder(*this, name); }

}  // namespace troupe
