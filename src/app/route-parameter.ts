/** A parameter in the path of a route: its name, and the pattern of its value in braces, which may contain slashes. */
export const ROUTE_PARAMETER = /:(\w+)(\{(?:[^{}]|\{[^{}]*\})*\})?/g;
