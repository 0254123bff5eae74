"""An artifact's text for whoever looks: by name, and never engagement."""

from gnomon.daemon import arguments as args
from gnomon.daemon.inbox.artifacts import Artifacts
from gnomon.domain.views import ArtifactShown
from gnomon.gateway.operation import Operation, Progress


def artifact_rows(artifacts: Artifacts) -> tuple[Operation, ...]:
    """The row of the table that shows one. Only `inbox.open`, an act, says that it was opened."""

    async def show(asked: args.ArtifactShow, _: Progress) -> ArtifactShown:
        return ArtifactShown(artifact=asked.artifact, text=artifacts.text(asked.artifact))

    return (
        Operation(
            "artifact.show",
            "A document's text",
            args.ArtifactShow,
            ArtifactShown,
            show,
            reads=True,
        ),
    )
