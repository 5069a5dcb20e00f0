import { expect, it } from "vitest";
import { clientNetwork } from "../../../src/base/client-network.ts";

it.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8:1:2::", "2001:db8:1:2"],
  ["2001:0db8:0001:2::9", "2001:db8:1:2"],
  ["2001:db8::9", "2001:db8:0:0"],
  ["::1", "0:0:0:0"],
  ["fe80::1:2:3:4", "fe80:0:0:0"],
  ["", ""],
])("limits count %j under %j", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
