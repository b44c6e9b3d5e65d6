#include "demo/registry.h"

__attribute__((constructor)) static void register_slow(void) { demo_register("SlowBackend"); }
