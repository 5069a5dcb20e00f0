import { randomBytes } from "node:crypto";
import { AREAS } from "./differ/areas/areas.ts";
import { type DifferCommand, HELP, parseDifferArguments } from "./differ/arguments.ts";
import { groupFindings, renderReport } from "./differ/report.ts";
import { type Finding, Round } from "./differ/round.ts";
import { Server } from "./differ/server.ts";
import { Choices } from "./local/choices.ts";
import { commandToRun } from "./local/command-line.ts";

/** Auth methods for mounts that are only enabled, tuned and moved. */
const METHODS = ["aws", "approle", "userpass"];

/** Policies that the areas give to tokens. */
const POLICIES = {
  dfa: 'path "cubbyhole/*" { capabilities = ["create", "read", "update", "delete", "list"] }',
  dfb: 'path "sys/mounts" { capabilities = ["read"] }',
  dfcreate: 'path "auth/token/*" { capabilities = ["update", "read"] }',
  dfsudo: 'path "*" { capabilities = ["create", "read", "update", "delete", "list", "sudo"] }',
};

async function run(command: DifferCommand): Promise<number> {
  const servers = {
    reference: new Server(command.reference.url, command.reference.token),
    tested: new Server(command.tested.url, command.tested.token),
  };
  for (const server of Object.values(servers)) {
    for (const [name, policy] of Object.entries(POLICIES)) {
      const { status } = await server.ask({ method: "POST", path: `sys/policies/acl/${name}`, body: { policy } });
      if (status !== 204) throw new Error(`a policy could not be written: status ${status}`);
    }
  }
  for (const server of Object.values(servers)) server.remember("method", await methodOf(server));
  // Another run with the same seed must not meet what this one leaves.
  const mark = randomBytes(3).toString("hex");
  const findings: Finding[] = [];
  let requests = 0;
  for (let number = command.first; number < command.first + command.rounds; number++) {
    for (const area of command.areas) {
      const choices = new Choices(`${command.seed}/${area}/${number}`);
      const round = new Round(`${area} ${number}`, `df${mark}${area[0]}${number}x`, choices, servers, command.texts);
      await AREAS[area]?.(round);
      findings.push(...round.findings);
      requests += round.requests;
    }
  }
  console.log(renderReport(requests, findings, command.all));
  return groupFindings(findings).some(({ why }) => why === null) ? 1 : 0;
}

/** The method of mounts on a server: the first of METHODS that it can enable. */
async function methodOf(server: Server): Promise<string> {
  for (const type of METHODS) {
    const path = `sys/auth/df-probe-${type}`;
    const { status } = await server.ask({ method: "POST", path, body: { type } });
    await server.ask({ method: "DELETE", path });
    if (status === 204) return type;
  }
  throw new Error("a server can enable none of the auth methods that are known here");
}

const say = (line: string): void => console.error(`differ: ${line}`);

async function main(): Promise<number> {
  const command = commandToRun(parseDifferArguments(process.argv.slice(2)), HELP, say);
  if (!command.ok) return command.error;
  return run(command.value);
}

process.exitCode = await main();
