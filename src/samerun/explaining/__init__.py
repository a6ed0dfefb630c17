"""From a first difference to its source: recognise, then confirm by a further run."""
