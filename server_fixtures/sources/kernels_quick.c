#include "demo/registry.h"

__attribute__((constructor)) static void register_quick(void) { demo_register("demo::add.out"); }
