/**
 * The run of a cron job to which a delivery belongs. `agent_id` is the agent that has the job, `name` the name of the
 * job at that time.
 */
export type CronOrigin = {
  readonly agent_id: string;
  readonly job_id: string;
  readonly name: string;
  readonly occurrence_id: string;
  readonly due_at: string;
};
