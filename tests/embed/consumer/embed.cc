#include <iostream>

#include "opyard/dispatch/dispatcher.h"
#include "opyard/ops.h"
#include "opyard/yard.h"

int main() {
  opyard::Yard yard;
  yard.load_plugin("cpu");
  const opyard::Tensor a = opyard::ops::full({2, 2}, 1.5);
  const opyard::Tensor typed = opyard::ops::add(a, a, 2);  // a + 2 * a

  const opyard::Dispatcher& dispatcher = opyard::Dispatcher::global();
  opyard::Stack stack{a, a, 2};
  dispatcher.call_boxed(dispatcher.get("aten::add.Tensor"), stack);
  const opyard::Tensor boxed = stack.back().to_tensor();

  std::cout << "typed " << typed.data<float>()[3] << ", boxed " << boxed.data<float>()[3] << '\n';
  return typed.data<float>()[3] == 4.5f && boxed.data<float>()[3] == 4.5f ? 0 : 1;
}
