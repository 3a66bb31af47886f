// The program `troupe`: its commands.

#include "info/commands/closest_name.hpp"
#include "info/commands/demo.hpp"
#include "info/commands/replay.hpp"
#include "info/commands/requests.hpp"
#include "info/commands/top.hpp"
#include "info/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::info {
namespace {

constexpr const char* usage =
    "usage: troupe COMMAND [OPTION]...     also as: python -m troupe COMMAND [OPTION]...\n"
    "\n"
    "  info [--json]            the machine, devices, driver, plugins and libraries, and what is\n"
    "                           missing\n"
    "  info --limits [--json]   the cases that vendors' libraries are given, versions, and why\n"
    "  requests [--json] [LIBRARY|REQUEST]\n"
    "                           what can be asked; of one request, all that it takes\n"
    "  requests --index         all of it as one page of Markdown\n"
    "  top [--once] [--json] [--rate|--total|--failed|--p50|--p99] [PID|URL]\n"
    "                           what a running program does, as it tells "
    "(troupe::telemetry::serve)\n"
    "  replay [--from N] [--to N] [--device cpu|cuda] [--of N] [--exact|--tolerance T]\n"
    "         [--against cpu|cuda] [--stop-at-difference] [--over-gaps] [--plugin FILE]...\n"
    "         [--environment NAME=VALUE]... [--json]\n"
    "         FILE              runs the requests of a journal again and compares; exits with 0 "
    "if\n"
    "                           all is equal, 1 if something differs, 2 if it cannot be replayed\n"
    "  demo                     matrix products go on while their worker is killed\n"
    "  version                  the version of Troupe, as --version\n"
    "  help                     this text, as --help after any command\n";

struct command_line {
  std::vector<std::string_view> options;
  std::vector<std::string_view> words;

  std::vector<std::pair<std::string_view, std::string_view>> values;  // by option

  [[nodiscard]] bool has(std::string_view option) const {
    return std::ranges::find(options, option) != options.end();
  }
};

struct command {
  std::string_view name;
  std::vector<std::string_view> options;  // with "=" behind it: takes a value
  std::size_t most_words = 0;
  int (*run)(const command_line&) = nullptr;
};

int show_usage(const command_line&) {
  fmt::print("{}", usage);
  return 0;
}

const std::array commands{
    command{"info",
            {"--json", "--limits"},
            0,
            [](const command_line& given) {
              show_report(given.has("--json"), given.has("--limits"));
              return 0;
            }},
    command{"requests",
            {"--json", "--index"},
            1,
            [](const command_line& given) {
              if (!given.has("--index")) {
                return show_requests(given.words.empty() ? "" : given.words[0],
                                     given.has("--json"));
              }
              show_index();
              return 0;
            }},
    command{"top",
            {"--once", "--json", "--rate", "--total", "--failed", "--p50", "--p99"},
            1,
            [](const command_line& given) {
              std::string_view sort = "rate";
              for (const std::string_view one : given.options) {
                if (one != "--once" && one != "--json") sort = one.substr(2);
              }
              return show_top(given.words.empty() ? "" : given.words[0], sort, given.has("--once"),
                              given.has("--json"));
            }},
    command{"replay",
            {"--from=", "--to=", "--device=", "--of=", "--tolerance=", "--against=", "--plugin=",
             "--environment=", "--exact", "--stop-at-difference", "--over-gaps", "--json"},
            1,
            [](const command_line& given) {
              return replay_journal(given.words, given.options, given.values);
            }},
    command{"demo", {}, 0, [](const command_line&) { return show_demo(); }},
    command{"version",
            {},
            0,
            [](const command_line&) {
              fmt::print("{}\n", TROUPE_VERSION);
              return 0;
            }},
    command{"help", {}, 1, &show_usage}};

int refuse(const std::string& why) {
  fmt::print(stderr, "troupe: {}\n`troupe help` lists the commands\n", why);
  return 2;
}

int run(std::vector<std::string_view> arguments) {
  for (const std::string_view one : arguments) {
    if (one == "--help" || one == "-h") return show_usage({});
  }
  if (arguments.empty()) {
    fmt::print(stderr, "{}", usage);
    return 2;
  }
  const std::string_view name = arguments[0] == "--version" ? "version" : arguments[0];
  const auto* const found = std::ranges::find(commands, name, &command::name);
  if (found == commands.end()) {
    return refuse(
        fmt::format("there is no command {}{}", name,
                    did_you_mean(name, commands | std::views::transform(&command::name))));
  }
  command_line given;
  const auto takes_value = [found](std::string_view option) {
    return std::ranges::any_of(found->options, [option](std::string_view known) {
      return known.ends_with('=') && known.substr(0, known.size() - 1) == option;
    });
  };
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view one = arguments[i];
    const std::string_view option = one.substr(0, one.find('='));
    if (!one.starts_with("-")) {
      given.words.push_back(one);
    } else if (takes_value(option)) {
      if (option == one && i + 1 == arguments.size()) {
        return refuse(fmt::format("{} {} needs a value", name, one));
      }
      given.values.emplace_back(option,
                                option == one ? arguments[++i] : one.substr(option.size() + 1));
    } else if (std::ranges::find(found->options, one) != found->options.end()) {
      given.options.push_back(one);
    } else {
      return refuse(
          fmt::format("{} has no option {}{}", name, one, did_you_mean(one, found->options)));
    }
  }
  if (given.words.size() > found->most_words) {
    return refuse(fmt::format("{} takes no more words: {}", name, given.words.back()));
  }
  return found->run(given);
}

}  // namespace
}  // namespace troupe::info

int main(int argc, char** argv) {
  // A reader that has enough, such as `head`, ends this program quietly. Python ignores the signal,
  // and the programs that it becomes inherit that.
  std::signal(SIGPIPE, SIG_DFL);
  return troupe::info::run({argv + std::min(argc, 1), argv + argc});
}
