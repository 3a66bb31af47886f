// A plugin's operations run like any other, and a crash in one is survived like any other:
//   example_plugin libimage.so

#include "image.hpp"

#include <troupe/troupe.hpp>

#include <iostream>
#include <span>
#include <vector>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::cerr << "usage: example_plugin PATH/libimage.so\n";
    return 2;
  }
  // region: load
  troupe::system system;
  troupe::device device = system.device(0, {.plugins = {argv[1]}});
  // endregion: load

  // region: use
  auto x = device.tensor<float>({4, 5}).value();
  auto y = device.tensor<float>({4, 5}).value();
  std::vector<float> picture(20);
  picture[7] = 9;  // one bright pixel
  std::vector<float> blurred(20);
  auto sent = device.copy(std::span(picture), x);
  auto done = device.ask(image::blur{.x = x, .y = y});
  auto back = device.copy(y, std::span(blurred));
  // endregion: use
  sent.get();
  done.get();
  back.get();
  const auto show = [&] {
    for (std::size_t i = 0; i < blurred.size(); ++i)
      std::cout << blurred[i] << (i % 5 == 4 ? '\n' : ' ');
  };
  show();

  // region: crash
  // The worker that runs it ends. The program continues, and x is unchanged.
  const auto outcome = device.ask(image::faulty{.y = y}).get_result();
  if (outcome || outcome.error().code != troupe::errc::device_fault) return 1;
  std::cout << outcome.error().to_string() << '\n';

  device.ask(image::blur{.x = x, .y = y}).get();  // by the next worker, with the same plugin
  // endregion: crash
  std::vector<float> before = blurred;
  device.copy(y, std::span(blurred)).get();
  show();
  return blurred == before && blurred[7] == 1 && device.generation() > 1 ? 0 : 1;
} catch (const troupe::failure& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
