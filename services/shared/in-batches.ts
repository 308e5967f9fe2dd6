// Work of jobs that goes on until nothing is left: a bounded number of rows at a time, so that no statement and no transaction
// grows with what has piled up, and a bounded number of times, so that no run of a job goes on for ever.

export interface BatchBounds {
  /** At most so many rows are done by one call of the work. */
  rowsMax: number;
  batchesMax: number;
}

/**
 * Calls `work` until it has done fewer rows than it may. What is left after `batchesMax` calls is for the next run of the job.
 * @param work does at most `rowsMax` rows. @returns how many it has done
 */
export async function inBatches(
  { rowsMax, batchesMax }: BatchBounds,
  work: () => Promise<number>,
): Promise<void> {
  for (let done = 0; done < batchesMax; done++) if ((await work()) < rowsMax) return;
}
