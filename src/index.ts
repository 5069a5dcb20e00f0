import { DurableObject } from "cloudflare:workers";

export class TokenTree extends DurableObject {}
export class AccessorShard extends DurableObject {}
export class CustomIds extends DurableObject {}
export class System extends DurableObject {}

export default {
  fetch(): Response {
    return Response.json({ errors: [] }, { status: 404 });
  },
};
