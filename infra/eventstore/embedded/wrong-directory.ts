/** Creates the error for a directory that a command cannot work on: the operator has to name another one. The exit code is 2. */
export const wrongDirectory = (message: string): Error => Object.assign(new Error(message), { exitCode: 2 });
