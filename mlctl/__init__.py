"""mlctl: declarative infrastructure as code for Azure Machine Learning."""

__version__ = "0.1.0"
