import { readFileSync } from "node:fs";
import { call, type OtherServer } from "./call.ts";

/** What another server says of itself. */
export interface ServerDescription {
  /** Its program where its process is known, version, storage and number of audit devices. */
  readonly text: string;
  readonly auditDevices: number;
}

/** Asks another server what it is. */
export async function describeServer(other: OtherServer): Promise<ServerDescription> {
  const status = (await call(other, "GET", "sys/seal-status")).body;
  const devices = Object.keys((await call(other, "GET", "sys/audit")).body?.data ?? {}).length;
  const program = other.pid === null ? other.url : readFileSync(`/proc/${other.pid}/comm`, "utf8").trim();
  return { text: serverText(program, status ?? {}, devices), auditDevices: devices };
}

/** @param status the answer of `sys/seal-status`. */
export function serverText(program: string, status: object, devices: number): string {
  const version = "version" in status ? ` ${status.version}` : "";
  const storage = "storage_type" in status ? `, storage ${status.storage_type}` : "";
  return `${program}${version}${storage}, audit devices: ${devices}`;
}
