import type { Round } from "../round.ts";
import { type Kind, someFields } from "../values.ts";

const CONFIG: Readonly<Record<string, Kind>> = {
  default_lease_ttl: "duration",
  max_lease_ttl: "duration",
  passthrough_request_headers: "list",
  allowed_response_headers: "list",
  audit_non_hmac_request_keys: "list",
  audit_non_hmac_response_keys: "list",
};
const TYPES = ["default-service", "default-batch", "service", "batch", "", "other"] as const;

/** Auth mounts: enabled, read at both places, tuned, moved and disabled. */
export async function mounts(round: Round): Promise<void> {
  const { choices, prefix } = round;
  const place = `${prefix}m${choices.pick(["", "/below"])}`;
  const config = someFields(choices, CONFIG, 0.3);
  if (choices.chance(0.3)) config.token_type = choices.pick(TYPES);
  if (choices.chance(0.3)) config.listing_visibility = choices.pick(["unauth", "hidden", "", "x"]);
  const type = choices.pick(["{method}", "{method}", "{method}", "none", ""]);
  await round.post(`sys/auth/${place}`, { type, description: "a mount", config });
  await round.post(`sys/auth/${place}`, { type: "{method}" });
  for (let i = 0; i < 3; i++) {
    await readEverywhere(round, place);
    const change = someFields(choices, { ...CONFIG, description: "text" }, 0.3);
    if (choices.chance(0.3)) change.token_type = choices.pick(TYPES);
    await round.post(choices.pick([`sys/auth/${place}/tune`, `sys/mounts/auth/${place}/tune`]), change);
  }
  await readEverywhere(round, place);
  for (const path of ["cubbyhole", "cubbyhole/tune", "sys/tune", "identity/tune"])
    await round.get(`sys/mounts/${path}`);
  const to = choices.pick([`auth/${place}-moved`, `auth/${place}/x`, "auth/token", "x", "", `auth/${place}`]);
  await round.post("sys/remount", { from: "auth/none", to });
  await round.delete(`sys/auth/${place}`);
  await round.delete(`sys/auth/${place}`);
  await round.get(`sys/auth/${place}`);
}

async function readEverywhere(round: Round, place: string): Promise<void> {
  for (const path of [`sys/auth/${place}`, `sys/mounts/auth/${place}`]) {
    await round.get(path);
    await round.get(`${path}/tune`);
  }
}
