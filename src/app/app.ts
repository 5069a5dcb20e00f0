import { Hono } from "hono";
import { err } from "../base/result.ts";
import { failureOfException } from "../wire/failure.ts";
import { readUrl } from "../wire/request.ts";
import { consolePages } from "./console.ts";
import type { AppEnv } from "./context.ts";
import { limitRequests } from "./limit-requests.ts";
import { arrival, audit, faults, installation, metrics } from "./middleware.ts";
import { request } from "./read-request.ts";
import { respond } from "./respond.ts";
import { serve } from "./serve.ts";
import { unreadBody } from "./unread-body.ts";

/**
 * The HTTP interface of the Worker. A request passes the lines below from top to bottom. Paths are matched as they were
 * sent: an encoded path is never that of the console.
 */
export const app = new Hono<AppEnv>({ getPath: ({ url }) => readUrl(url).pathname });

app.use(unreadBody); // reads what an answer did not need

// The console needs neither keys nor objects, so it is also served while the service is sealed.
app.route("/", consolePages);

// Middleware around every request of the API.
app.use(
  arrival, // reads the head; a request goes on when its client disconnects
  metrics,
  audit, // writes the last audit line, and waits until the store has it
  faults, // passes everything that is thrown below to onError
  installation, // loads policies, mounts and keys; refuses everything without a seal key
  limitRequests, // before the body is read
  request, // reads the token and the fields in the dialect of the path
);

app.all("*", serve);
app.onError((error, c) =>
  respond(c, { ...c.get("answer"), result: err(failureOfException(error, c.get("requestId"))) }),
);
