import { forgetInstallation } from "../../src/system/installation.ts";
import { changeKeyRing } from "../../src/system/key-rotation.ts";
import { bindings } from "./service.ts";

/** Makes the installation one of before rows had seals: the key ring says nothing about them. Rows without one are good. */
export async function forgetSeals(): Promise<void> {
  await changeKeyRing(bindings, ({ sealsFrom: _, sealedKinds: _2, kindsFrom: _3, ...ring }) => ring);
  forgetInstallation();
}
