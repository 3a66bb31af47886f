// A shared library that is no plugin.

extern "C" __attribute__((visibility("default"))) int of_no_use() { return 1; }
