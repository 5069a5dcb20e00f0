import { type GroveVariables, protect } from "grove/hono";
import type { TokenAuthorityBinding } from "grove/types";
import { Hono } from "hono";

interface Env {
  readonly GROVE: TokenAuthorityBinding;
}

const app = new Hono<{ Bindings: Env; Variables: GroveVariables }>();

const protectedByGrove = protect<Env>((env) => env.GROVE);
app.use("/reports/*", protectedByGrove);
app.get("/reports/:name", (c) => c.json({ report: c.req.param("name"), reader: c.get("grove").holder.displayName }));

export default app;
