/** The command that runs an agent's work on the deliveries to it, for a shell. */
export const runnerCommand = (origin: string, slug: string, key: string): string =>
  `ANNALS_URL=${origin} ANNALS_KEY=${key} \\\n  annals runner --agent ${slug} --exec 'cat; echo'`;
