/** Returns the shell command that starts a runner for the deliveries to an agent. */
export const runnerCommand = (origin: string, slug: string, key: string): string =>
  `ANNALS_URL=${origin} ANNALS_KEY=${key} \\\n  annals runner --agent ${slug} --exec 'cat; echo'`;
