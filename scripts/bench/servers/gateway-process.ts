/*
 * The gateway as `npm run serve` runs it before its Worker, in a process of its own: so its CPU and memory can be told apart.
 * Arguments: the path of the Worker's socket, and the port.
 */
import { BlockList } from "node:net";
import { startGateway } from "../../../gateway/server.ts";

const [socket = "", port = ""] = process.argv.slice(2);
const gateway = await startGateway({
  listen: { host: "127.0.0.1", port: Number(port) },
  upstream: { kind: "socket", path: socket },
  repeats: true,
  trustedProxies: new BlockList(),
  log: console.error,
  audit: console.log,
});
if (!gateway.ok) throw new Error(gateway.error);
process.once("SIGTERM", async () => {
  await gateway.value.stop();
  process.exit(0);
});
