// Asks for an operation that is a function of Python.
//
//   example_python_operation PYTHON FILE

#include <troupe/device.hpp>
#include <troupe/device/fork_server.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/fields.hpp>
#include <troupe/request/request_builder.hpp>

#include <unistd.h>

#include <iostream>
#include <span>
#include <utility>
#include <vector>

namespace {

// region: signature
// What scale.py declares. The worker refuses a type that differs from it.
const troupe::request_type& scale_type() {
  troupe::request_builder made("signal.scale");
  const troupe::extent n = made.size("n");
  made.tensor("x", troupe::access::read, {n}, "numbers");
  made.tensor("y", troupe::access::write, {n}, "result");
  made.value("factor", 1.0, "what they are multiplied by");
  return *made.same_type({"x", "y"}, {troupe::dtype::f32}).make().value();
}

troupe::any_request scale(const troupe::any_tensor& x, const troupe::any_tensor& y, double factor) {
  troupe::any_request made(scale_type());
  for (const troupe::field_view& one : fields_of(made.type())) {
    if (one.name == "x") one.in<troupe::any_tensor>(made.data()) = x;
    if (one.name == "y") one.in<troupe::any_tensor>(made.data()) = y;
    if (one.name == "factor") one.in<double>(made.data()) = factor;
  }
  return made;
}
// endregion: signature

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " PYTHON FILE\n";
    return 2;
  }
  // region: device
  // A process that imports the file once and forks the device's workers.
  troupe::fork_server::config python{.command = {argv[1], "-m", "troupe.worker", argv[2]}};
  for (char** one = environ; *one != nullptr; ++one)
    python.environment.emplace_back(*one);
  troupe::system system;
  troupe::device_config config{.backend = troupe::backend_kind::cpu};
  config.forked_by = troupe::fork_server::start(std::move(python)).value();
  troupe::device gpu = system.device(0, config);
  // endregion: device

  const std::vector<float> numbers{1, 2, 3};
  std::vector<float> doubled(3);
  auto x = gpu.tensor<float>({3}).value();
  auto y = gpu.tensor<float>({3}).value();
  gpu.copy(std::span(numbers), x).get();
  // region: ask
  gpu.ask(scale(x, y, 2)).get();
  const auto bad = gpu.ask(scale(x, y, 666)).get_result();  // costs this request
  gpu.ask(scale(x, y, 2)).get();
  // endregion: ask
  gpu.copy(y, std::span(doubled)).get();
  std::cout << (bad ? "no failure" : bad.error().message) << "\n"
            << doubled[0] << " " << doubled[1] << " " << doubled[2] << "\n";
  return bad || doubled != std::vector<float>{2, 4, 6} ? 1 : 0;
}
