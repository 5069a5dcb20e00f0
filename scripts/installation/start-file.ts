/** The example of a declaration for a new installation, in the project and in its package. */
export const START_FILE = "examples/start.hcl";
