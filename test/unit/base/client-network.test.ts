import { expect, it } from "vitest";
import { allowanceOf, clientNetworks, plainAddress } from "../../../src/base/client-network.ts";

it.each([
  ["192.0.2.7", ["192.0.2.7"]],
  ["::ffff:192.0.2.7", ["192.0.2.7"]],
  ["::ffff:c000:207", ["192.0.2.7"]],
  ["0:0:0:0:0:FFFF:C000:0207", ["192.0.2.7"]],
  ["2001:db8:1:2abc:3:4:5:6", ["2001:db8:1:2abc:0:0:0:0/64", "2001:db8:1:2a00:0:0:0:0/56", "2001:db8:1:0:0:0:0:0/48"]],
  ["2001:0DB8:0001:2::9", ["2001:db8:1:2:0:0:0:0/64", "2001:db8:1:0:0:0:0:0/56", "2001:db8:1:0:0:0:0:0/48"]],
  ["::1", ["0:0:0:0:0:0:0:0/64", "0:0:0:0:0:0:0:0/56", "0:0:0:0:0:0:0:0/48"]],
  ["unknown", ["unknown"]],
  ["1:2:x", ["1:2:x"]],
  ["", [""]],
])("limits count %j in %j", (address, networks) => {
  expect(clientNetworks(address)).toEqual(networks);
});

it("a /56 has twice the limit of a client, and a /48 four times", () => {
  expect([0, 1, 2].map(allowanceOf)).toEqual([1, 2, 4]);
});

it.each([
  ["::ffff:c000:207", "192.0.2.7"],
  ["::FFFF:192.0.2.7", "192.0.2.7"],
  ["192.0.2.7", "192.0.2.7"],
  ["0:0::C000:207", "::c000:207"],
  ["2001:db8::1", "2001:db8::1"],
  ["2001:0DB8:0:0::1", "2001:db8::1"],
  ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
  ["a:b", "a:b"],
])("%s has the plain form %s", (address, plain) => {
  expect(plainAddress(address)).toBe(plain);
});
