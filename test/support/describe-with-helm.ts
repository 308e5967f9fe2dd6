// Suites that need Helm, and those that need the schemas of Kubernetes.
import { findHelm } from "../../charts/rendered.ts";
import { describeWithProgram } from "./describe-with-program.ts";
import { findProgram } from "./programs.ts";

export const describeWithHelm = (name: string, body: () => void): void =>
  describeWithProgram(
    "helm",
    findHelm() !== undefined,
    name,
    body,
    "go install helm.sh/helm/v3/cmd/helm@v3.22.0",
  );

/** The file of the program that checks manifests against the schemas of Kubernetes' own kinds. */
export const kubernetesValidate = findProgram("kubernetes-validate");

export const describeWithSchemas = (name: string, body: () => void): void =>
  describeWithProgram(
    "kubernetes-validate",
    kubernetesValidate !== undefined,
    name,
    body,
    "pip install kubernetes-validate==1.37.0",
  );
