import { appendFileSync } from "node:fs";
import { BlockList } from "node:net";
import { createInterface } from "node:readline";
import { CLIENT_ADDRESS_HEADER } from "../gateway/headers.ts";
import { type Gateway, startGateway } from "../gateway/server.ts";
import { misreadSettings } from "../src/base/misread-settings.ts";
import { numberSetting } from "../src/base/number-settings.ts";
import { err, ok, type Result } from "../src/base/result.ts";
import { mistakesIn } from "./declare/known-fields.ts";
import { linesOfRefusal, linesOfStep } from "./declare/plan-lines.ts";
import { applyRequests } from "./declare/plan-step.ts";
import { readDeclarationFile } from "./declare/sources.ts";
import { type DevCommand, HELP, parseDevArguments } from "./dev/arguments.ts";
import { type DevIdentity, devIdentity, environmentFile, KEPT } from "./dev/dev-secrets.ts";
import { isLogLine, WranglerOutput } from "./dev/wrangler-output.ts";
import { GroveClient } from "./grove/client.ts";
import type { Child } from "./local/child.ts";
import { runCommand } from "./local/command-line.ts";
import { CRON_MS, startCron } from "./local/cron.ts";
import { DataDirectory } from "./local/data-directory.ts";
import { listenFailure, portProblem } from "./local/listen-address.ts";
import { type Running, runServer } from "./local/run-server.ts";
import { sourceCommit, sourceVersion } from "./local/source-version.ts";
import { hasDevTokens } from "./local/stored-tokens.ts";
import { onPort, refusalOfAll, succeeds, waitUntilAnswers } from "./local/wait-until-answers.ts";
import { readVariables, settingsFromEnvironment } from "./local/worker-definition.ts";
import { startWrangler } from "./local/wrangler.ts";

/** How long the Worker may take to answer once Wrangler has built and started it. */
const ANSWER_MS = 30_000;

/** The path that triggers the Worker's cron under Wrangler. The gateway answers 404 there. */
const CRON_PATH = "/cdn-cgi/local/scheduled";

const PORT_ADVICE = "choose another with --port N";

const say = (line: string): void => console.error(`dev: ${line}`);

interface Prepared {
  readonly data: DataDirectory;
  readonly identity: DevIdentity;
  /** The commit of the sources at the start. */
  readonly commit: string;
}

/** Prepares everything that the Worker needs before it starts. */
async function prepare(command: DevCommand): Promise<Result<Prepared, string>> {
  const variables = readVariables();
  if (!variables.ok) return variables;
  const data = DataDirectory.open(command.data);
  if (!data.ok) return data;
  if (command.fresh) data.value.remove(KEPT);
  const identity = devIdentity(data.value, command.rootToken);
  if (!identity.ok) return identity;
  const commit = sourceCommit();
  const settings = settingsFromEnvironment(variables.value, process.env);
  for (const line of misreadSettings(settings)) say(line);
  const environment = environmentFile({
    ...settings,
    GROVE_SEAL_KEY: identity.value.sealKey,
    GROVE_DEV_ROOT_TOKEN: identity.value.rootToken,
    GROVE_PRIVATE_HOSTS: command.privateHosts.text,
    ...(commit !== "" && { GROVE_COMMIT: commit }),
    CLIENT_ADDRESS_HEADER,
    ONE_THREAD: "true",
    STORED_TOKENS: String(hasDevTokens(data.value.file("state"))),
  });
  if (!environment.ok) return environment;
  data.value.write("environment", environment.value);
  return ok({ data: data.value, identity: identity.value, commit });
}

/**
 * Shows Wrangler's messages and keeps the audit log. Resolves to the Worker's port. After a failed build it waits: Wrangler builds again
 * when a source changes.
 *
 * @param onLine called after each line
 */
function followOutput(
  wrangler: Child,
  output: WranglerOutput,
  data: DataDirectory,
  onLine: () => void,
): Promise<number> {
  return new Promise((resolve) => {
    for (const stream of wrangler.streams) {
      createInterface({ input: stream }).on("line", (colored) => {
        const line = output.take(colored);
        onLine();
        if (line.kind === "ready") resolve(line.port);
        if (isLogLine(line.text)) appendAudit(data, line.text);
        if (line.kind === "message" || line.kind === "broken") console.error(line.text);
        if (line.kind === "updated") console.error("dev: reloaded");
      });
    }
  });
}

function appendAudit(data: DataDirectory, line: string): void {
  appendFileSync(data.file("audit.log"), `${line}\n`, { mode: 0o600 });
}

async function start(command: DevCommand, asked: Promise<void>): Promise<Result<Running & Prepared, string>> {
  const listen = { host: "127.0.0.1", port: command.port };
  const taken = await portProblem(listen, PORT_ADVICE);
  if (taken !== undefined) return err(taken);
  const prepared = await prepare(command);
  if (!prepared.ok) return prepared;
  const { data } = prepared.value;

  const wrangler = startWrangler(data);
  const output = new WranglerOutput();
  const fail = async (message: string): Promise<Result<never, string>> => {
    await wrangler.stop();
    data.close();
    return err(message);
  };
  const gone = Promise.race([asked.then(() => "asked to stop"), wrangler.ended]);
  let gateway: Result<Gateway, string> | undefined;
  // While a build fails, Wrangler would keep requests waiting, also those that came just before the failure.
  const onLine = (): void => {
    if (gateway?.ok) gateway.value.suspend(output.buildError);
  };
  const port = await Promise.race([followOutput(wrangler, output, data, onLine), gone]);
  if (typeof port === "string") return fail(`the start was broken off: ${port}`);
  if (!(await waitUntilAnswers(onPort(port), gone, ANSWER_MS))) return fail("the Worker does not answer");

  gateway = await startGateway({
    listen,
    upstream: onPort(port),
    trustedProxies: new BlockList(),
    maxBodyBytes: numberSetting("MAX_BODY_BYTES", process.env.MAX_BODY_BYTES),
    log: (line) => console.error(`gateway: ${line}`),
    audit: (line) => appendAudit(data, line),
  });
  if (!gateway.ok) return fail(listenFailure(listen, gateway.error, PORT_ADVICE));
  onLine();
  if (command.apply !== undefined)
    await applyDeclared(command.apply, gateway.value.port, prepared.value.identity.rootToken);
  const refusal = await refusalOfAll(onPort(port));
  if (refusal !== undefined) say(`${refusal}; or start empty with --fresh`);
  const stopCron = startCron(() => succeeds(onPort(port), CRON_PATH, CRON_MS), say);
  return ok({
    ...prepared.value,
    gateway: gateway.value,
    child: wrangler,
    stopping: stopCron,
    close: () => data.close(),
  });
}

/** Applies a declaration. After a failure the server keeps running, so that the operator can correct the file. */
async function applyDeclared(file: string, port: number, token: string): Promise<void> {
  const read = readDeclarationFile(file, process.env);
  const client = new GroveClient(`http://127.0.0.1:${port}`, token, { repeats: true });
  const found = await mistakesIn(client, (read.ok ? read.value : read.error).requests);
  const mistakes = [...(read.ok ? [] : read.error.lines), ...(found.ok ? found.value : [found.error.message])];
  if (!read.ok || mistakes.length > 0) return mistakes.forEach((line) => void say(line));
  const outcome = await applyRequests(client, read.value.requests, (step, warnings) => {
    for (const line of [...linesOfStep({ colours: false }, step), ...warnings]) say(line);
  });
  for (const line of linesOfRefusal(outcome, read.value.requests)) say(line);
}

function banner(address: string, version: string, rootToken: string, auditLog: string): string {
  return `
Grove listens on ${address}

  Version      ${version}
  Console      ${address}/ui/
  Root token   ${rootToken}
  Audit log    ${auditLog}

In another terminal:

  export VAULT_ADDR=${address}
  export VAULT_TOKEN=${rootToken}
  bao token lookup      # or: vault token lookup
  curl -H "X-Vault-Token: $VAULT_TOKEN" $VAULT_ADDR/v1/auth/token/lookup-self

For development only: the root token never expires and there is no TLS. Ctrl-C stops it; data is kept until --fresh.
`;
}

function develop(command: DevCommand): Promise<number> {
  return runServer({
    childName: "the development server",
    start: (asked) => start(command, asked),
    announce: ({ gateway, identity, commit }) => {
      const address = `http://127.0.0.1:${gateway.port}`;
      console.log(banner(address, sourceVersion(commit), identity.rootToken, `${command.data}/audit.log`));
    },
    say,
  });
}

// Databases and sockets are for this user only, also in a directory that others may enter.
process.umask(0o077);
process.exit(await runCommand(parseDevArguments(process.argv.slice(2)), HELP, say, develop));
